// Browsers start no worker from a file on disk. There the site's search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = this.onerror = null;
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.ready = new Promise((ready) => {
        this.frame.onload = ready;
      });
      const address = String(new URL(url, document.baseURI)).replace(/"/g, "%22");
      this.frame.srcdoc =
        '<script>postMessage = (data) => parent.postMessage(data, "*")</' +
        `script><script src="${address}"></` + "script>";
      this.heard = (event) => {
        if (event.source !== this.frame.contentWindow) return;
        const told = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(told);
        if (this.onmessage) this.onmessage(told);
      };
      addEventListener("message", this.heard);
      document.body.append(this.frame);
    }
    postMessage(data) {
      // Not contentWindow.postMessage, which answers this window.
      this.ready.then(() => {
        const worker = this.frame.contentWindow;
        if (worker) worker.dispatchEvent(new worker.MessageEvent("message", { data }));
      });
    }
    terminate() {
      removeEventListener("message", this.heard);
      this.frame.remove();
    }
  };
}
