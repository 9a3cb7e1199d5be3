import { withWheel } from './wheel.ts';

/** One model of LiteLLM's map. The members are not checked until they are read. */
export type MapEntry = Readonly<Record<string, unknown>>;

const MAP_FILE = 'litellm/model_prices_and_context_window_backup.json';
/** The first entry of the map, which documents its members. */
const SAMPLE = 'sample_spec';

/** Reads the map of a release of LiteLLM. Without a version, of the newest. */
export function downloadMap(version: string | undefined) {
  return withWheel('litellm', version, (wheel) => {
    const entries = Object.entries(JSON.parse(wheel.read(MAP_FILE)) as Record<string, MapEntry>);
    return {
      version: wheel.version,
      licence: wheel.licence,
      entries: new Map(entries.filter(([name]) => name !== SAMPLE)),
    };
  });
}
