// SPDX-FileCopyrightText: The hccn.cluster authors
// SPDX-License-Identifier: GPL-3.0-or-later
(() => {
  // Heat maps: values under the pointer and with the arrow keys, zoom, search and filter.
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const NONE = {65535: "cell_not_measured", 65534: "cell_failed", 65533: "diagonal", 65532: "cell_lost"};
  const LEAST_VALUE = 65532, HALF = 120, LOW = 0.5, HIGH = 1.05;
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const palette = bytesOf(data.palette);
  const inflate = async (text) => {
    const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const words = () => data.words[document.getElementById("zh").checked ? "zh" : "en"];
  const unpack = async (map) => {
    if (map.bytes) return;
    map.from = map.devices ? await inflate(map.devices) : null;
    map.bytes = await inflate(map.values);
  };
  const number = (map, row, column) => {
    const place = row * (map.columns || map.rows).length + column;
    return map.bytes[place] * 256 + map.bytes[place + map.bytes.length / 2];
  };
  const share = (map, found) => map.unit === "µs" ? map.expected * map.scale / found : found / map.scale / map.expected;
  const read = (map, row, column) => {
    const columns = map.columns || map.rows;
    const found = number(map, row, column), from = map.from && map.from[row * columns.length + column];
    const endpoints = map.rows[row] + (map.name === "rails" ? " · " : " → ") + columns[column] + (map.from && from !== 255 ? " (NPU " + from + ")" : "");
    if (NONE[found]) return endpoints + ": " + words()[NONE[found]];
    return endpoints + ": " + Number((found / map.scale).toPrecision(4)) + " " + map.unit + ", " + Math.round(share(map, found) * 100) + " %";
  };
  const level = (part, limit) => part < limit ? Math.round(Math.max((part - LOW) / (limit - LOW), 0) * (HALF - 1))
    : HALF + Math.round(Math.min((part - limit) / (HIGH - limit), 1) * (HALF - 1));
  const STATES = {cell_failed: [176, 0, 32, 255], cell_lost: [64, 64, 72, 255], diagonal: [128, 128, 128, 150], cell_not_measured: [128, 128, 128, 60]};

  const draw = (canvas, map, rows) => {
    const columns = (map.columns || map.rows).length;
    canvas.width = columns;
    canvas.height = rows.length;
    const context = canvas.getContext("2d"), image = context.createImageData(columns, rows.length);
    rows.forEach((row, y) => {
      for (let column = 0; column < columns; column++) {
        const found = number(map, row, column), at = (y * columns + column) * 4;
        const index = found < LEAST_VALUE ? level(share(map, found), map.limit) * 3 : 0;
        image.data.set(found < LEAST_VALUE ? [palette[index], palette[index + 1], palette[index + 2], 255] : STATES[NONE[found]], at);
      }
    });
    context.putImageData(image, 0, 0);
  };

  document.querySelectorAll(".cells").forEach((cells) => {
    const map = data.maps[Number(cells.dataset.map)];
    const plot = cells.parentElement, columns = (map.columns || map.rows).length;
    let rows = null;  // the rows that are shown, null for all
    const count = () => rows ? rows.length : map.rows.length;
    const spot = document.createElement("div");
    spot.className = "spot";
    let at = null;
    const hide = () => { tip.style.visibility = "hidden"; spot.remove(); at = null; };
    const show = async (row, column) => {
      at = [row, column];
      await unpack(map);
      if (!at || at[0] !== row || at[1] !== column || row >= count()) return;
      const box = cells.getBoundingClientRect();
      spot.style.setProperty("--x", column);
      spot.style.setProperty("--y", row);
      cells.append(spot);
      tip.textContent = read(map, rows ? rows[row] : row, column);
      const x = box.left + (column + 1) * box.width / columns + 8, y = box.top + (row + 1) * box.height / count() + 8;
      tip.style.left = Math.max(4, Math.min(x, innerWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = Math.max(4, Math.min(y, innerHeight - tip.offsetHeight - 8)) + "px";
      tip.style.visibility = "visible";
    };
    const clamp = (value, most) => Math.max(0, Math.min(most - 1, value));
    cells.classList.add("read");
    cells.tabIndex = 0;
    cells.addEventListener("pointermove", (event) => {
      const box = cells.getBoundingClientRect();
      show(clamp(Math.floor((event.clientY - box.top) / box.height * count()), count()), clamp(Math.floor((event.clientX - box.left) / box.width * columns), columns));
    });
    cells.addEventListener("pointerleave", hide);
    cells.addEventListener("blur", hide);
    cells.addEventListener("keydown", (event) => {
      const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      const from = at || [-step[0], -step[1]];
      show(clamp(from[0] + step[0], count()), clamp(from[1] + step[1], columns));
    });

    const controls = document.querySelector(`.controls[data-map="${cells.dataset.map}"]`);
    const find = controls.querySelector(".find"), bad = controls.querySelector(".bad"), shown = controls.querySelector("output");
    const canvas = document.createElement("canvas"), names = document.createElement("div");
    names.className = "marks rows";
    names.setAttribute("aria-hidden", "true");
    const original = plot.querySelector(".rows");
    const size = {width: Number(plot.style.getPropertyValue("--cw")), height: Number(plot.style.getPropertyValue("--ch0"))};
    let factor = 1;
    const label = () => {  // names of the shown rows, as many as fit
      const high = Math.max(1, size.height * factor), every = Math.max(1, Math.ceil(14 / high));
      names.replaceChildren(...rows.map((row, place) => [row, place]).filter(([, place]) => place % every === 0).map(([row, place]) => {
        const name = document.createElement("span");
        name.textContent = map.rows[row].length > 14 ? "…" + map.rows[row].slice(-13) : map.rows[row];
        name.style.setProperty("--i", place);
        return name;
      }));
    };
    const apply = () => {
      hide();
      plot.style.setProperty("--r", count());
      plot.style.setProperty("--w", Math.max(1, Math.round(size.width * factor)));
      plot.style.setProperty("--h", Math.max(1, Math.round(size.height * factor)));
      cells.querySelectorAll("img").forEach((image) => { image.hidden = rows !== null; });
      if (rows === null) {
        canvas.remove();
        if (names.isConnected) names.replaceWith(original);
        shown.textContent = "";
        return;
      }
      label();
      draw(canvas, map, rows);
      cells.prepend(canvas);
      if (original.isConnected) original.replaceWith(names);
      shown.textContent = rows.length + " / " + map.rows.length + " " + words().shown_rows;
    };
    const filter = async () => {
      await unpack(map);
      const wanted = find.value.trim().toLowerCase();
      const isBad = (row) => { for (let column = 0; column < columns; column++) {
        const found = number(map, row, column);
        if (found === 65534 || found === 65532 || found < LEAST_VALUE && share(map, found) < map.limit) return true;
      } return false; };
      const all = map.rows.map((name, row) => row);
      rows = wanted || bad.checked ? all.filter((row) => map.rows[row].toLowerCase().includes(wanted) && (!bad.checked || isBad(row))) : null;
      apply();
    };
    const zoom = async (by) => {
      await unpack(map);
      factor = Math.max(0.5, Math.min(16, factor * by));
      if (factor !== 1 && rows === null) rows = map.rows.map((name, row) => row);
      apply();
    };
    find.addEventListener("input", filter);
    bad.addEventListener("change", filter);
    controls.querySelector(".in").addEventListener("click", () => zoom(2));
    controls.querySelector(".out").addEventListener("click", () => zoom(0.5));
    controls.hidden = false;
  });
  document.querySelectorAll(".hover").forEach((hint) => { hint.hidden = false; });
})();
