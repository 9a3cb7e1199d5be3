import { type RefObject, useEffect, useRef, useState } from 'react';

/** Whether what is inside is wider than the box. Only then is the box a thing to scroll, and a stop for the keyboard. */
export function useOverflows<Box extends HTMLElement>(): readonly [box: RefObject<Box | null>, overflows: boolean] {
  const box = useRef<Box>(null);
  const [overflows, setOverflows] = useState(false);
  useEffect(() => {
    const element = box.current;
    const inside = element?.firstElementChild;
    if (!element || !inside) return;
    const watcher = new ResizeObserver(() => setOverflows(inside.scrollWidth > element.clientWidth));
    watcher.observe(element);
    watcher.observe(inside);
    return () => watcher.disconnect();
  }, []);
  return [box, overflows];
}
