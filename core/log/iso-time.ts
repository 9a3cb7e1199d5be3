/**
 * Same as `toISOString`, for 0.2 instead of 1.3 us: most calls are for the same second as the call
 * before.
 */
export function createIsoTime(): (nowMs: number) => string {
  let second = Number.NaN;
  /** Up to the point before the milliseconds. */
  let text = '';
  return (nowMs) => {
    const nowSecond = Math.floor(nowMs / 1000);
    if (nowSecond !== second) {
      second = nowSecond;
      text = new Date(nowSecond * 1000).toISOString().slice(0, -'000Z'.length);
    }
    return `${text}${String(nowMs - nowSecond * 1000).padStart(3, '0')}Z`;
  };
}
