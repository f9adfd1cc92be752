// The search of the index goes over its own data, so that it works from disk. What is searched
// for stands in the address (#q=words), so that it can be mailed.
(() => {
  const MOST = 50;
  const finder = document.getElementById("finder");
  const box = document.getElementById("find");
  const list = document.getElementById("found");
  const count = document.getElementById("found-count");
  const PREFIX = "#q=";
  let entries;

  function entry(label, where, href, words) {
    return { label, where, href, text: `${label} ${where} ${words}`.toLowerCase() };
  }

  // Systems, then pages, then objects, then reports; what is newer comes first.
  function collect() {
    const data = JSON.parse(document.getElementById("index-data").textContent);
    const pages = data.pages.slice().reverse();
    const systems = Array.from(document.querySelectorAll("section[data-system]"), (section) =>
      entry(`System ${section.dataset.system}`, "all its pages", `#${section.id}`, ""));
    const about = (page) => `${page.system} ${page.run} ${page.level} ${page.days.join(" ")}`;
    const titled = (page) => (page.run ? `${page.title}, system ${page.system}` : page.title);
    return systems.concat(
      pages.map((page) => entry(titled(page), page.days.join(" ").slice(0, 21), page.href, about(page))),
      pages.flatMap((page) => page.objects.map(([title, href]) =>
        entry(title, titled(page), href, about(page)))),
      pages.flatMap((page) => page.reports.map((name) =>
        entry(data.titles[name], `${name} · ${titled(page)}`, `${page.href}#r-${name}`, about(page)))),
    );
  }

  // A server has all objects of each system, which it is asked for when a search begins.
  async function ask() {
    for (const { dataset } of document.querySelectorAll("section[data-objects]")) {
      const answer = await fetch(dataset.objects);
      if (!answer.ok) continue;
      entries ??= collect();
      entries.push(...(await answer.json()).map(([title, href]) =>
        entry(title, `system ${dataset.system}`, href, "")));
      show();
    }
  }

  function show() {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    entries ??= collect();
    const found = words.length ? entries.filter((one) => words.every((word) => one.text.includes(word))) : [];
    list.replaceChildren(...found.slice(0, MOST).map((one) => {
      const item = document.createElement("li");
      const link = item.appendChild(document.createElement("a"));
      link.href = one.href;
      link.textContent = one.label;
      const where = item.appendChild(document.createElement("span"));
      where.textContent = ` ${one.where}`;
      return item;
    }));
    const all = `${found.length} found`;
    count.textContent = words.length ? (found.length > MOST ? `${all}, the first ${MOST} are shown` : all) : "";
    const own = location.pathname + location.search;
    history.replaceState(null, "", words.length ? PREFIX + encodeURIComponent(box.value) : own);
  }

  function read() {
    if (!location.hash.startsWith(PREFIX)) return;
    box.value = decodeURIComponent(location.hash.slice(PREFIX.length));
    show();
  }

  function step(by) {
    const stops = [box, ...list.querySelectorAll("a")];
    const next = stops.indexOf(document.activeElement) + by;
    stops[Math.max(0, Math.min(next, stops.length - 1))].focus();
  }

  finder.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      step(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Escape") {
      box.value = "";
      box.focus();
      show();
    } else if (event.key === "Enter" && event.target === box) {
      list.querySelector("a")?.click();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input")) return;
    event.preventDefault();
    box.focus();
  });
  box.addEventListener("input", show);
  box.addEventListener("focus", ask, { once: true });
  window.addEventListener("hashchange", read);
  finder.hidden = false;
  read();
})();
