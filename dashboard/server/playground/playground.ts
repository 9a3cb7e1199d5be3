import { Places } from '../fairness/places.ts';
import { PlaygroundKeys } from './playground-keys.ts';

/** State that plays share: their keys, and slots for concurrent plays. */
export class Playground {
  readonly keys = new PlaygroundKeys();
  /** A play uses a connection of the browser and one to the gateway. */
  readonly plays = new Places({
    // Enough for two models side by side, and a second tab at the same time.
    ofUser: 4,
    // A quarter, so that one organization cannot keep others from playing.
    ofOrganization: 16,
    ofAll: 64,
  });
}
