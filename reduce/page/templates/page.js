"use strict";
// Tables sort by a click on a heading and show the lines that have all words typed above them;
// charts show the values under the pointer. Without a script everything is there to be read.
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

  function cell(row, text) {
    row.insertCell().textContent = text;
  }

  function follow(card) {
    const source = card.querySelector("script.points");
    const frame = card.querySelector("svg .role-frame path.background");
    if (!source || !frame) return;
    const points = JSON.parse(source.textContent);
    const first = points.times[0];
    const last = points.times[points.times.length - 1];
    if (last === first) return;
    const tip = card.appendChild(document.createElement("div"));
    const cross = card.appendChild(document.createElement("div"));
    tip.className = "tip";
    cross.className = "cross";

    function nearest(time) {
      let best = 0;
      points.times.forEach((at, n) => {
        if (Math.abs(at - time) < Math.abs(points.times[best] - time)) best = n;
      });
      return best;
    }

    function show(n, plot, outer) {
      tip.replaceChildren();
      const when = document.createElement("b");
      when.textContent = new Date(points.times[n]).toISOString().slice(0, 19).replace("T", " ");
      const table = document.createElement("table");
      points.names.forEach((name, s) => {
        const row = table.insertRow();
        const known = points.values[s][n];
        cell(row, name);
        cell(row, known === null ? "not known" : known.toLocaleString("en"));
      });
      tip.append(when, table);
      const x = plot.left - outer.left + plot.width * (points.times[n] - first) / (last - first);
      cross.style.cssText = `display:block;left:${x}px;top:${plot.top - outer.top}px;height:${plot.height}px`;
      tip.style.display = "block";
      const room = card.clientWidth - tip.offsetWidth;
      const left = x + 12 > room ? x - 12 - tip.offsetWidth : x + 12;
      tip.style.left = `${Math.max(0, Math.min(left, room))}px`;
      tip.style.top = `${plot.top - outer.top + 6}px`;
    }

    function point(event) {
      const plot = frame.getBoundingClientRect();
      const outer = card.getBoundingClientRect();
      const share = (event.clientX - plot.left) / plot.width;
      const above = event.clientY < plot.top || event.clientY > plot.bottom;
      if (share < 0 || share > 1 || above) hide();
      else show(nearest(first + share * (last - first)), plot, outer);
    }

    card.addEventListener("pointermove", point);
    card.addEventListener("pointerdown", point);
    // A finger that is lifted leaves as well, but wants to read what it touched.
    card.addEventListener("pointerleave", (event) => event.pointerType === "touch" || hide());

    function hide() {
      tip.style.display = cross.style.display = "none";
    }
  }

  document.querySelectorAll("table.data").forEach(sortable);
  document.querySelectorAll("input[type=search]").forEach((input) => {
    filterable(input, document.getElementById(input.getAttribute("aria-controls")));
  });
  document.querySelectorAll("figure.card").forEach(follow);
  document.documentElement.dataset.ready = "yes";
})();
