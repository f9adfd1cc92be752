"use strict";
// Tables sort by a click on a heading and show the lines that have all words typed above them.
// Without a script everything is there to be read.
(() => {
  const PLAIN = /^-?\d+(\.\d+)?$/;

  function value(row, column) {
    const cell = row.cells[column];
    const text = cell.dataset.v || cell.textContent.trim();
    return cell.dataset.t === undefined && PLAIN.test(text) ? Number(text) : text;
  }

  function compare(a, b) {
    if (typeof a === "number" && typeof b === "number") return a - b;
    return String(a).localeCompare(String(b), "en", { numeric: true });
  }

  // What is not known comes last, either way round; lines that are equal keep their order.
  function sort(table, column, falling) {
    const body = table.tBodies[0];
    const keyed = Array.from(body.rows, (row) => [value(row, column), row]);
    keyed.sort(([a], [b]) => {
      if (a === "" || b === "") return (a === "") - (b === "");
      return falling ? compare(b, a) : compare(a, b);
    });
    body.append(...keyed.map(([, row]) => row));
  }

  function sortable(table) {
    const heads = Array.from(table.tHead.rows[0].cells);
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const falling = before ? before === "ascending" : !head.classList.contains("t");
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", falling ? "descending" : "ascending");
        sort(table, column, falling);
      });
    });
  }

  function filterable(input, table) {
    const rows = Array.from(table.tBodies[0].rows);
    const count = input.closest(".tools").querySelector("output");
    const texts = [];
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, n) => {
        texts[n] ??= Array.from(row.cells, (cell) => cell.textContent).join("\n").toLowerCase();
        row.hidden = !words.every((word) => texts[n].includes(word));
        shown += !row.hidden;
      });
      const all = `${rows.length} line${rows.length === 1 ? "" : "s"}`;
      count.textContent = words.length ? `${shown} of ${all}` : all;
    });
  }

  document.querySelectorAll("table.data").forEach(sortable);
  document.querySelectorAll("input[type=search]").forEach((input) => {
    filterable(input, document.getElementById(input.getAttribute("aria-controls")));
  });
  document.querySelector("form.sql textarea")?.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.form.requestSubmit();
  });
  document.documentElement.dataset.ready = "yes";
})();
