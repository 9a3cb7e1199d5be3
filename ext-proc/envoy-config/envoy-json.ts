type Json = string | number | boolean | readonly Json[] | EnvoyJson;

/** A part of Envoy's configuration. */
export interface EnvoyJson {
  readonly [name: string]: Json;
}
