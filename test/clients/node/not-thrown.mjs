/**
 * An error that a client reports in its result instead of throwing it. `name` is what the caller
 * sees.
 */
export class NotThrown extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}
