import { withWheel } from './wheel.ts';

/** One model of LiteLLM's map. Only the members that are read are known to be there. */
export type MapEntry = Readonly<Record<string, unknown>>;

export interface LiteLlmMap {
  readonly version: string;
  readonly licence: string;
  readonly entries: ReadonlyMap<string, MapEntry>;
}

const MAP_FILE = 'litellm/model_prices_and_context_window_backup.json';
/** First entry of the map: the documentation of its members. */
const SAMPLE = 'sample_spec';

/** Reads the map of a release of LiteLLM, of the newest one without a version. */
export function downloadMap(version: string | undefined): LiteLlmMap {
  return withWheel('litellm', version, (wheel) => {
    const entries = Object.entries(JSON.parse(wheel.read(MAP_FILE)) as Record<string, MapEntry>);
    return {
      version: wheel.version,
      licence: wheel.licence,
      entries: new Map(entries.filter(([name]) => name !== SAMPLE)),
    };
  });
}
