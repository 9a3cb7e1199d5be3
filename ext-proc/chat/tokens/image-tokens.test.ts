import { describe, expect, it } from 'vitest';
import { imageTokens } from './image-tokens.ts';

describe('imageTokens', () => {
  it.each([
    // Width, height, and tokens by OpenAI's published rules for gpt-4o and gpt-4o-mini.
    [1, 1, 255, 8500],
    [512, 512, 255, 8500],
    [513, 512, 425, 14_167],
    [1024, 1024, 765, 25_501],
    [2048, 4096, 1105, 36_835],
    [4096, 8192, 1105, 36_835],
  ])('%i x %i', (width, height, estimate, ceiling) => {
    const tokens = imageTokens({ width, height });
    expect(tokens.estimate).toBe(estimate);
    expect(tokens.ceiling).toBeGreaterThanOrEqual(ceiling);
  });

  it('counts pixels in the ceiling, for models that bill by pixels', () => {
    const patches = (8000 / 28) * (6000 / 28);
    expect(imageTokens({ width: 8000, height: 6000 }).ceiling).toBeGreaterThanOrEqual(patches);
  });

  it('bounds images of any size', () => {
    const huge = imageTokens({ width: 2 ** 32 - 1, height: 2 ** 32 - 1 });
    expect(huge).toEqual({ estimate: 765, ceiling: 100_000_000 });
    expect(imageTokens({ width: 2 ** 32 - 1, height: 1 }).estimate).toBe(85 + 170 * 4);
    const unknown = imageTokens(undefined);
    expect(unknown.estimate).toBe(765);
    expect(unknown.ceiling).toBeGreaterThanOrEqual(48_169);
  });
});
