import type { MapEntry } from './litellm-map.ts';
import { offPeakOf } from './off-peak-hours.ts';

/**
 * Kinds of prices that a price table cannot express, by the members of the map. Excludes prices of
 * what the gateway refuses to send (searches, audio and video in chat requests), surcharges for
 * endpoints in other regions, and batches.
 */
export function otherKindsOf(name: string, entry: MapEntry): readonly string[] {
  const priced = (member: string) => typeof entry[member] === 'number' && entry[member] !== 0;
  const differs = (member: string, from: string) => priced(member) && entry[member] !== entry[from];
  const outputs = Array.isArray(entry.supported_output_modalities) ? entry.supported_output_modalities : [];
  const makes = (medium: string) => outputs.length === 0 || outputs.includes(medium);
  const kinds: Readonly<Record<string, boolean>> = {
    'images out': makes('image') && (priced('output_cost_per_image') || priced('output_cost_per_image_token')),
    'images in, each': priced('input_cost_per_image'),
    'images in, their tokens': differs('input_cost_per_image_token', 'input_cost_per_token'),
    'audio out':
      (outputs.includes('audio') && priced('output_cost_per_image')) ||
      (makes('audio') && priced('output_cost_per_audio_token')),
    'video in or out': priced('input_cost_per_video_per_second') || priced('output_cost_per_video_token'),
    'each request': priced('input_cost_per_request'),
    searches: searchesAlways(name, entry),
    citations: priced('citation_cost_per_token'),
    'time of a machine': priced('cost_per_second') || priced('input_cost_per_second'),
    characters: priced('input_cost_per_character') || priced('output_cost_per_character'),
    'hour of the day': typeof entry.off_peak_pricing === 'object' && offPeakOf(entry) === undefined,
    'reasoning tokens, beside output': reasoningDiffers(entry),
    'two prices of cached tokens': priced('explicit_cache_read_input_token_cost'),
  };
  return Object.keys(kinds).filter((kind) => kinds[kind]);
}

/** True for a model that searches unasked. Others search by a tool, which the gateway refuses. */
function searchesAlways(name: string, entry: MapEntry): boolean {
  const hasFee = typeof entry.search_context_cost_per_query === 'object' || entry.mode === 'search';
  return hasFee && (entry.litellm_provider === 'perplexity' || /search|deep-research/.test(name));
}

interface ReasoningPrices {
  readonly output_cost_per_reasoning_token?: unknown;
  readonly output_cost_per_token?: unknown;
}

function reasoningDiffers(entry: MapEntry): boolean {
  const tiers = Array.isArray(entry.tiered_pricing) ? (entry.tiered_pricing as ReasoningPrices[]) : [];
  return [entry as ReasoningPrices, ...tiers].some(
    ({ output_cost_per_reasoning_token: reasoning, output_cost_per_token: output }) =>
      typeof reasoning === 'number' && reasoning !== 0 && reasoning !== output,
  );
}
