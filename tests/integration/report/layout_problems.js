// Return layout problems as a list of messages: text that is cut off, overlaps other text, or lacks contrast.
(() => {
  const found = [];
  const lines = [];
  const shown = (element) => element.checkVisibility({visibilityProperty: true, contentVisibilityAuto: true, opacityProperty: true});
  const rgb = (text) => text.match(/[\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [r, g, b] = colour.slice(0, 3).map((part) => part / 255).map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.data.trim();
    if (!text || ["SCRIPT", "STYLE", "TITLE", "title"].includes(element.tagName) || element.closest("#tip, .pick, .sr") || !shown(element)) continue;
    const style = getComputedStyle(element);
    const ink = rgb(element instanceof SVGElement ? style.fill : style.color);
    const [bright, dim] = [luminance(ink), luminance(ground(element))].sort((a, b) => b - a);
    const contrast = (bright + 0.05) / (dim + 0.05);
    if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(2)}: ${text.slice(0, 40)}`);
    const range = document.createRange();
    range.selectNodeContents(node);
    const scroll = element.closest(".scroll");
    for (const box of range.getClientRects()) {
      if (box.width < 1 || box.height < 1) continue;
      if (!scroll && (box.left < -0.5 || box.right > innerWidth + 0.5)) found.push(`beyond the screen (${Math.round(box.right)}): ${text.slice(0, 40)}`);
      for (let at = element; at && at !== document.body; at = at.parentElement) {
        const edge = at.getBoundingClientRect();
        const hides = getComputedStyle(at).overflow !== "visible" && at !== scroll && !(at instanceof SVGElement);
        if (hides && (box.left < edge.left - 1 || box.right > edge.right + 1)) found.push(`cut off: ${text.slice(0, 40)}`);
      }
      lines.push({text, box, element});
    }
  }
  for (let one = 0; one < lines.length; one++) {
    for (let other = one + 1; other < lines.length; other++) {
      const a = lines[one].box, b = lines[other].box;
      const width = Math.min(a.right, b.right) - Math.max(a.left, b.left), height = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
      if (width > 1.5 && height > 4) found.push(`${lines[one].text.slice(0, 30)} lies on ${lines[other].text.slice(0, 30)} (${width.toFixed(0)} x ${height.toFixed(0)})`);
    }
  }
  if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  return {found: found.slice(0, 20), lines: lines.length};
})()
