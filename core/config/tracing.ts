import type { z } from 'zod';
import { parsePublicUrl } from './network-names.ts';
import { parseShare } from './quantities.ts';
import { matching, named, read, readText, section } from './schema-fields.ts';

/** Headers of the export. Those of the HTTP request itself are reserved. */
const HEADER_NAME =
  'the name of a header such as authorization or x-api-key, and none that describes the body or the connection';
const headerName = matching(
  /^(?!(?:connection|content-.*|expect|host|keep-alive|proxy-connection|te|trailer|transfer-encoding|upgrade)$)[a-z0-9-]{1,64}$/,
  HEADER_NAME,
);

/** Target of the spans, in OpenTelemetry's protocol over HTTP. */
export const tracing = section({
  otlp_url: readText('an http or https URL without credentials', parsePublicUrl),
  headers: named(
    headerName,
    matching(/^[\x21-\x7e][\x20-\x7e]{0,4095}$/, '1 to 4096 visible ASCII characters'),
    HEADER_NAME,
  ).prefault({}),
  sample: read('a share from 0 to 1, such as 0.1', parseShare).prefault(0.1),
}).transform(({ otlp_url, headers, sample }) => ({ otlpUrl: tracesUrl(otlp_url), headers, sampleRatio: sample }));

/** Some headers are secret. */
export type TracingConfig = Readonly<z.output<typeof tracing>>;

/** Completes the URL of a collector without a path (OTLP specification, "Default URL"). */
function tracesUrl(otlpUrl: string): string {
  const url = new URL(otlpUrl);
  if (url.pathname === '/') url.pathname = '/v1/traces';
  return url.href;
}
