import { type ReactNode, useEffect, useRef, useState } from 'react';
import styles from './hint-layer.module.css';

interface Hint {
  readonly text: string;
  readonly box: DOMRect;
}

const OPEN_AFTER_MS = 250;
const CLOSE_AFTER_MS = 120;
const EDGE_PX = 8;

/**
 * The only tooltip of the page. Shows `data-hint` of the hovered or focused element. One listener
 * serves all elements, because a table has hundreds of amounts and times. Screen readers do not
 * need the text, which repeats or refines the element's own. The tooltip can be hovered, and Escape
 * closes it (WCAG 1.4.13).
 */
export function HintLayer(): ReactNode {
  const [hint, setHint] = useState<Hint>();
  const popup = useRef<HTMLDivElement>(null);

  useEffect(() => watch(setHint, popup), []);
  useEffect(() => {
    if (hint && popup.current) place(popup.current, hint.box);
  }, [hint]);

  return (
    <div ref={popup} className={styles.hint} popover="manual" aria-hidden="true">
      {hint?.text}
    </div>
  );
}

function watch(show: (hint: Hint | undefined) => void, popup: { readonly current: HTMLDivElement | null }): () => void {
  const ending = new AbortController();
  const options = { signal: ending.signal, passive: true, capture: true };
  let timer: ReturnType<typeof setTimeout> | undefined;
  let current: Element | undefined;

  const later = (target: Element | undefined, delayMs: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      current = target;
      const text = target?.isConnected ? target.getAttribute('data-hint') : undefined;
      show(target && text ? { text, box: target.getBoundingClientRect() } : undefined);
      if (!text) popup.current?.hidePopover();
    }, delayMs);
  };
  const hintOf = (event: Event) =>
    event.target instanceof Element ? (event.target.closest('[data-hint]') ?? undefined) : undefined;

  document.addEventListener(
    'pointerover',
    (event) => {
      if (event.pointerType === 'touch') return;
      if (event.target instanceof Node && popup.current?.contains(event.target)) return clearTimeout(timer);
      const target = hintOf(event);
      if (target === current) return clearTimeout(timer);
      later(target, target ? (current ? 0 : OPEN_AFTER_MS) : CLOSE_AFTER_MS);
    },
    options,
  );
  document.addEventListener(
    'focusin',
    (event) => {
      if (event.target instanceof Element && event.target.matches(':focus-visible'))
        later(hintOf(event), OPEN_AFTER_MS);
    },
    options,
  );
  for (const name of ['focusout', 'pointerdown'] as const)
    document.addEventListener(name, () => later(undefined, 0), options);
  // Hides the tooltip while a focused element scrolls into view.
  document.addEventListener('scroll', () => current && later(undefined, 0), options);
  document.addEventListener('keydown', (event) => event.key === 'Escape' && later(undefined, 0), options);
  return () => {
    clearTimeout(timer);
    ending.abort();
  };
}

/** Places it above the element, or below if there is no room, within the window. */
function place(popup: HTMLDivElement, box: DOMRect): void {
  if (!popup.matches(':popover-open')) popup.showPopover();
  const { width, height } = popup.getBoundingClientRect();
  const above = box.top - height - EDGE_PX / 2;
  const top = above >= EDGE_PX ? above : box.bottom + EDGE_PX / 2;
  const left = Math.max(EDGE_PX, Math.min(box.left + box.width / 2 - width / 2, innerWidth - width - EDGE_PX));
  popup.style.top = `${top}px`;
  popup.style.left = `${left}px`;
}
