// No test depends on how fast the computer is. This limit only ends a unit test that hangs. (Jest ignores `testTimeout` of a project.)
/* global jest */
jest.setTimeout(5 * 60_000);
