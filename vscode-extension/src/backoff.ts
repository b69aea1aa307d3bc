/** Decides whether and when a server that stopped by itself is started again. */

export interface Restart {
  /** Counts from 1. */
  readonly attempt: number;
  readonly seconds: number;
}

/** Waits 1, 2, 4, 8 and 16 seconds; a server that then stops again within `quiet` seconds stays off. */
export class Backoff {
  private attempts = 0;
  private startedAt = 0;

  constructor(
    private readonly limit = 5,
    private readonly quiet = 180,
  ) {}

  /** Notes that the server runs, at `now` in seconds. */
  started(now: number): void {
    this.startedAt = now;
  }

  /** Returns when to try again after a stop at `now` in seconds, or null if that has been tried often enough. */
  stopped(now: number): Restart | null {
    if (this.startedAt > 0 && now - this.startedAt >= this.quiet) {
      this.attempts = 0;
    }
    if (this.attempts >= this.limit) {
      return null;
    }
    this.attempts += 1;
    return { attempt: this.attempts, seconds: 2 ** (this.attempts - 1) };
  }

  /** Forgets earlier stops: someone has asked for a start. */
  reset(): void {
    this.attempts = 0;
  }
}
