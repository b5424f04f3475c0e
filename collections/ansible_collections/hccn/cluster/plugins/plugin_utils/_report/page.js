// SPDX-FileCopyrightText: The hccn.cluster authors
// SPDX-License-Identifier: GPL-3.0-or-later
"use strict";
(() => {
  // The language, and the buttons that copy commands.
  const zh = document.getElementById("zh");
  const words = JSON.parse(document.getElementById("data").textContent).words;
  document.querySelectorAll(".pick").forEach((pick) => pick.addEventListener("change", () => { document.documentElement.lang = zh.checked ? "zh-CN" : "en"; }));
  const copy = async (element) => {
    try {
      await navigator.clipboard.writeText(element.textContent);
    } catch {
      getSelection().selectAllChildren(element);
      document.execCommand("copy");
    }
  };
  document.querySelectorAll("button.copy").forEach((button) => {
    button.hidden = false;
    button.addEventListener("click", async () => {
      await copy(button.parentElement.querySelector("code"));
      const tip = document.getElementById("tip"), box = button.getBoundingClientRect();
      tip.textContent = words[zh.checked ? "zh" : "en"].copied;
      tip.style.left = Math.max(4, box.left) + "px";
      tip.style.top = box.bottom + 6 + "px";
      tip.style.visibility = "visible";
      setTimeout(() => { tip.style.visibility = "hidden"; }, 1200);
    });
  });
  // A link to a folded part opens it.
  const unfold = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const fold = target && target.querySelector("details");
    if (fold) { fold.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
