/** An error that a client reports in its result: `name` is what the caller sees of it. */
export class NotThrown extends Error {
  constructor(name, message) {
    super(message);
    this.name = name;
  }
}
