import type { JsonObject } from '#core/json-object.ts';

/** An event that the gateway makes, as text. */
export function sentEvent(type: string, members: JsonObject = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/** An event of a provider, as text. Line breaks in JSON only stand between tokens. */
export function passedEvent(type: string, json: string): string {
  return `event: ${type}\ndata: ${json.includes('\n') ? json.replaceAll('\n', ' ') : json}\n\n`;
}

/**
 * Rewrites each event in a text. Every event has one line of data. The pattern has no dot, because
 * JSON strings may contain a line separator (U+2028), which a dot does not match.
 */
export function eachEvent(text: string, rewrite: (type: string, data: string) => string): string {
  return text.replaceAll(
    /(?:^|(?<=\n))(?:event: ?([^\n]*)\n)?data: ?([^\n]*)\n\n/g,
    (_, type: string | undefined, data: string) => rewrite(type ?? '', data),
  );
}
