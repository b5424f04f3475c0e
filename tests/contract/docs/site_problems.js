// Return the layout problems of a page of the documentation: what scrolls the page sideways, is wider than the screen, or lacks contrast.
(() => {
  const found = [];
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
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
    return dark ? [0, 0, 0] : [255, 255, 255];
  };
  const inScroller = (element) => {
    const scroller = element.closest("pre, .table-wrapper");
    return scroller && ["auto", "scroll"].includes(getComputedStyle(scroller).overflowX);
  };
  const content = document.querySelector(".content"); // scrolls sideways in place of the page
  if (document.documentElement.scrollWidth > innerWidth) found.push(`the page is too wide: ${document.documentElement.scrollWidth}`);
  if (content.scrollWidth > content.clientWidth) found.push(`the content is too wide: ${content.scrollWidth}`);
  const contrasts = new Map();
  let texts = 0;
  const walker = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || ["SCRIPT", "STYLE"].includes(element.tagName) || element.closest(".headerlink")) continue;
    if (!element.checkVisibility({visibilityProperty: true, opacityProperty: true})) continue;
    texts++;
    const name = node.data.trim().slice(0, 40);
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if (box.right > innerWidth + 1 && !inScroller(element)) found.push(`beyond the screen (${Math.round(box.right)}): ${name}`);
    const style = getComputedStyle(element).color;
    const below = ground(element);
    const key = `${style} ${below}`;
    if (contrasts.has(key)) continue;
    const [bright, dim] = [luminance(rgb(style)), luminance(below)].sort((a, b) => b - a);
    contrasts.set(key, (bright + 0.05) / (dim + 0.05));
    if (contrasts.get(key) < 4.5) found.push(`contrast ${contrasts.get(key).toFixed(2)}: ${name}`);
  }
  return {found: found.slice(0, 10), texts, dark};
})()
