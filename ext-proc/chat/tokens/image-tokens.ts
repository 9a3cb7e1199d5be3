import type { ImageSize } from './image-size.ts';
import type { TokenBounds } from './input-tokens.ts';

/**
 * Images are counted by the published rule for tiles: scaled down to fit 2048 x 2048, then to a
 * shorter side of 768, and cut into tiles of 512 x 512. A client's `detail` is ignored, since not
 * every provider honours it. Estimate: 85 tokens, and 170 a tile. Ceiling: the most expensive
 * published rules, which are 2833 tokens and 5667 a tile, or one token for every 28 x 28 pixels,
 * whichever is more. A size that cannot be read is estimated as 1024 x 1024; its ceiling is eight
 * tiles, the most there can be, or 16384 tokens, the limit of the models that count pixels.
 */
export function imageTokens(size: ImageSize | undefined): TokenBounds {
  if (!size) return { estimate: 85 + 170 * 4, ceiling: Math.max(mostTokensOf(MAX_TILES), 16_384) };
  const tiles = tilesOf(size);
  const patches = Math.ceil(size.width / 28) * Math.ceil(size.height / 28);
  return { estimate: 85 + 170 * tiles, ceiling: Math.max(mostTokensOf(tiles), Math.min(patches, MAX_PATCHES)) };
}

const MAX_TILES = 8;
/** More than any context window. It keeps sums of claimed sizes exact in a double. */
const MAX_PATCHES = 100_000_000;

function mostTokensOf(tiles: number): number {
  return 2833 + 5667 * tiles;
}

function tilesOf({ width, height }: ImageSize): number {
  const fitted = Math.min(1, 2048 / Math.max(width, height));
  const shorter = Math.min(width, height) * fitted;
  const scale = fitted * Math.min(1, 768 / shorter);
  return Math.ceil((width * scale) / 512) * Math.ceil((height * scale) / 512);
}
