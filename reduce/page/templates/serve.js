// Pages of a server: an answer that takes longer than a second says so and can be cancelled, and
// the box for SQL completes names of tables and columns.
(() => {
  const PATIENCE = 1000; // ms
  const MOST_NAMES = 8;
  const bar = document.body.appendChild(document.createElement("div"));
  bar.id = "working";
  bar.setAttribute("role", "status");
  bar.hidden = true;
  const text = bar.appendChild(document.createElement("span"));
  const cancel = bar.appendChild(document.createElement("button"));
  cancel.type = "button";
  cancel.textContent = "Cancel";
  let timer;
  let isFile = false;

  function end() {
    clearInterval(timer);
    bar.hidden = true;
  }

  // The page stays until the answer comes; a file comes without another page.
  window.addEventListener("submit", ({ submitter }) => {
    isFile = submitter?.hasAttribute("formaction");
  });
  window.addEventListener("beforeunload", () => {
    const begin = performance.now();
    end();
    if (isFile) return;
    timer = setInterval(() => {
      text.textContent = `Working for ${Math.round((performance.now() - begin) / 1000)} s `;
      bar.hidden = false;
    }, PATIENCE);
  });
  window.addEventListener("pageshow", end);
  cancel.addEventListener("click", () => {
    window.stop();
    end();
  });

  const box = document.getElementById("sql");
  const list = document.getElementById("names");
  if (!box || !list) return;
  let tables;

  const word = () => box.value.slice(0, box.selectionStart).match(/[\w.]*$/)[0];

  // Names that begin with the word before the cursor: tables, and columns of those in the text.
  function names() {
    const begun = word().toLowerCase();
    if (!begun || !tables) return [];
    const named = Object.keys(tables).filter((table) => box.value.includes(table));
    const all = new Set([...named.flatMap((table) => tables[table]), ...Object.keys(tables)]);
    return [...all].filter((name) => name.startsWith(begun) && name !== begun).slice(0, MOST_NAMES);
  }

  function complete(name) {
    const at = box.selectionStart;
    box.setRangeText(name, at - word().length, at, "end");
    box.focus();
    show();
  }

  async function show() {
    tables ??= await fetch("names").then((answer) => (answer.ok ? answer.json() : {}));
    list.replaceChildren(...names().map((name) => {
      const item = document.createElement("li");
      const button = item.appendChild(document.createElement("button"));
      button.type = "button";
      button.textContent = name;
      button.addEventListener("click", () => complete(name));
      return item;
    }));
  }

  box.addEventListener("input", show);
  box.addEventListener("keydown", (event) => {
    const [first] = list.querySelectorAll("button");
    if (event.key !== "Tab" || event.shiftKey || !first) return;
    event.preventDefault();
    complete(first.textContent);
  });
})();
