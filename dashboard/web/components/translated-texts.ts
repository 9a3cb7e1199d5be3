/** The element that shows the translation of a text node which React made. */
const translations = new WeakMap<Node, Element>();

/** What stands for the child within the parent: itself, or what a translator put around it. */
function placeOf(child: Node, parent: Node): Node | null {
  let place: Node | null = child.isConnected ? child : (translations.get(child) ?? null);
  while (place !== null && place.parentNode !== parent) place = place.parentNode;
  return place;
}

/**
 * Browsers translate a page by putting `<font>` elements in the place of text nodes. React keeps
 * its nodes: it would fail to remove them, and later texts would not be seen.
 */
export function endureTranslators(root: HTMLElement): void {
  const { removeChild, insertBefore } = Node.prototype;
  Node.prototype.removeChild = function <Child extends Node>(this: Node, child: Child): Child {
    const place = placeOf(child, this);
    if (place !== null) removeChild.call(this, place);
    return child;
  };
  Node.prototype.insertBefore = function <Child extends Node>(this: Node, child: Child, next: Node | null): Child {
    insertBefore.call(this, child, next && placeOf(next, this));
    return child;
  };
  const changes = new MutationObserver((records) => {
    for (const { target } of records) if (!target.isConnected) translations.get(target)?.replaceWith(target);
  });
  new MutationObserver((records) => {
    for (const { removedNodes, addedNodes, previousSibling } of records) {
      const [text, shown] = [removedNodes[0], addedNodes[0] ?? previousSibling];
      if (text?.nodeType !== Node.TEXT_NODE || shown?.nodeName !== 'FONT') continue;
      translations.set(text, shown as Element);
      changes.observe(text, { characterData: true });
    }
  }).observe(root, { childList: true, subtree: true });
}
