import { useEffect, useState } from 'react';

/** Whether the reader has left the top of the page. */
export function useScrolledDown(byPx: number): boolean {
  const [down, setDown] = useState(false);
  useEffect(() => {
    const look = () => setDown(window.scrollY > byPx);
    look();
    window.addEventListener('scroll', look, { passive: true });
    return () => window.removeEventListener('scroll', look);
  }, [byPx]);
  return down;
}
