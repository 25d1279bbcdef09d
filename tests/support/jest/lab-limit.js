// A test of the lab waits for its turn to start a lab (lab-turns.js), maybe for as long as all other tests take. This limit only ends a
// test that hangs.
/* global jest */
jest.setTimeout(90 * 60_000);
