import type { JsonObject } from '#core/json-object.ts';

/** An event of the gateway's own, as text. */
export function sentEvent(type: string, members: JsonObject = {}): string {
  return `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
}

/** An event of a provider, as text. A line break in JSON stands between tokens only. */
export function passedEvent(type: string, json: string): string {
  return `event: ${type}\ndata: ${json.includes('\n') ? json.replaceAll('\n', ' ') : json}\n\n`;
}

/**
 * Rewrites each event of a text of events, which have one line of data each. JSON may have a line
 * separator (U+2028) in a text, which a dot does not match.
 */
export function eachEvent(text: string, rewrite: (type: string, data: string) => string): string {
  return text.replaceAll(
    /(?:^|(?<=\n))(?:event: ?([^\n]*)\n)?data: ?([^\n]*)\n\n/g,
    (_, type: string | undefined, data: string) => rewrite(type ?? '', data),
  );
}
