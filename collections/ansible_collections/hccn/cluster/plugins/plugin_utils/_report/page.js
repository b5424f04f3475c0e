// SPDX-FileCopyrightText: The hccn.cluster authors
// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const tip = document.getElementById("tip");
  const NONE = {65535: "cell_not_measured", 65534: "cell_failed", 65533: "diagonal"};
  const inflate = async (text) => {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const words = () => data.words[document.getElementById("zh").checked ? "zh" : "en"];
  const unpack = async (map) => {
    map.bytes = await inflate(map.values);
    map.from = map.devices ? await inflate(map.devices) : null;
  };
  const read = (map, row, column) => {
    const columns = map.columns || map.rows;
    const place = row * columns.length + column;
    const number = map.bytes[place] * 256 + map.bytes[place + map.bytes.length / 2];
    const endpoints = map.rows[row] + (map.name === "rails" ? " · " : " → ") + columns[column];
    const npu = map.from && map.from[place] !== 255 ? " (NPU " + map.from[place] + ")" : "";
    if (NONE[number]) return endpoints + npu + ": " + words()[NONE[number]];
    const value = number / map.scale;
    const share = map.unit === "µs" ? map.expected / value : value / map.expected;
    return endpoints + npu + ": " + Number(value.toPrecision(4)) + " " + map.unit + ", " + Math.round(share * 100) + " %";
  };
  document.querySelectorAll(".cells").forEach((cells) => {
    const map = data.maps[Number(cells.dataset.map)];
    const rows = map.rows.length, columns = (map.columns || map.rows).length;
    const spot = document.createElement("div");
    spot.className = "spot";
    let at = null;
    const hide = () => { tip.style.visibility = "hidden"; spot.remove(); at = null; };
    const show = async (row, column) => {
      at = [row, column];
      if (!map.bytes) await unpack(map);
      if (!at || at[0] !== row || at[1] !== column) return;
      const box = cells.getBoundingClientRect();
      spot.style.setProperty("--x", column);
      spot.style.setProperty("--y", row);
      cells.append(spot);
      tip.textContent = read(map, row, column);
      const x = box.left + (column + 1) * box.width / columns + 8, y = box.top + (row + 1) * box.height / rows + 8;
      tip.style.left = Math.max(4, Math.min(x, innerWidth - tip.offsetWidth - 8)) + "px";
      tip.style.top = Math.max(4, Math.min(y, innerHeight - tip.offsetHeight - 8)) + "px";
      tip.style.visibility = "visible";
    };
    const clamp = (value, count) => Math.max(0, Math.min(count - 1, value));
    cells.classList.add("read");
    cells.tabIndex = 0;
    cells.addEventListener("pointermove", (event) => {
      const box = cells.getBoundingClientRect();
      show(clamp(Math.floor((event.clientY - box.top) / box.height * rows), rows), clamp(Math.floor((event.clientX - box.left) / box.width * columns), columns));
    });
    cells.addEventListener("pointerleave", hide);
    cells.addEventListener("blur", hide);
    cells.addEventListener("keydown", (event) => {
      const step = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      const from = at || [-step[0], -step[1]];
      show(clamp(from[0] + step[0], rows), clamp(from[1] + step[1], columns));
    });
  });
  document.querySelectorAll(".hover").forEach((hint) => { hint.hidden = false; });
})();
