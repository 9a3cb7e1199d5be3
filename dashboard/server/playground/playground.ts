import { Places } from '../fairness/places.ts';
import { PlaygroundKeys } from './playground-keys.ts';

/** State that plays share: keys, and how many there may be at once. */
export class Playground {
  readonly keys = new PlaygroundKeys();
  /** A play has a connection of a browser and one to the gateway. */
  readonly plays = new Places({
    // Two models side by side, and a second tab that plays while the first one does.
    ofUser: 4,
    // A quarter, so that one organization keeps nobody else from playing.
    ofOrganization: 16,
    ofAll: 64,
  });
}
