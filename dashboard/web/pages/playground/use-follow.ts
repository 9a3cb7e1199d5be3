import { type RefObject, useEffect, useLayoutEffect, useRef } from 'react';

/** Keeps the end of a growing element in view until the reader scrolls up, and again at the end. */
export function useFollow(element: RefObject<HTMLElement | null>, grown: unknown, count: number): void {
  const follows = useRef(true);
  useEffect(() => {
    let lastY = window.scrollY;
    const onScroll = () => {
      const isUp = window.scrollY < lastY;
      lastY = window.scrollY;
      follows.current = below(element.current) <= 1 || (follows.current && !isUp);
    };
    window.addEventListener('scroll', onScroll, { passive: true });
    return () => window.removeEventListener('scroll', onScroll);
  }, [element]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: who sends wants to see the answer
  useLayoutEffect(() => {
    follows.current = true;
  }, [count]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the element grows with it
  useLayoutEffect(() => {
    const hidden = below(element.current);
    if (follows.current && count > 0 && hidden > 0) window.scrollBy({ top: hidden, behavior: 'instant' });
  }, [grown, count, element]);
}

/** Pixels of it below the window. */
function below(element: HTMLElement | null): number {
  return element === null ? 0 : Math.ceil(element.getBoundingClientRect().bottom - window.innerHeight);
}
