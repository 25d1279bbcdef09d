/** A certificate that was valid through the year 2020, without an owner; its key is nowhere. */
export const expired = `-----BEGIN CERTIFICATE-----
MIIBATCBqAIBATAKBggqhkjOPQQDAjANMQswCQYDVQQDDAJtZTAeFw0yMDAxMDEw
MDAwMDBaFw0yMTAxMDEwMDAwMDBaMA0xCzAJBgNVBAMMAm1lMFkwEwYHKoZIzj0C
AQYIKoZIzj0DAQcDQgAEg832LusNu4DfA0cOqOHWCHiqZMCmaK+g0kyQXCgC8gip
CriZm4nGaEHnQ2Xl75QjgCLHtu5PxOC2rAvsnvYiFDAKBggqhkjOPQQDAgNIADBF
AiAc+NhSSLVYV9E9qhKNzvsYr2o8YJ75p5epPlcdqQc08QIhAIeIboDv/auxUPAA
mr4zIzSWu07UYoWYal4HcYXJiMhF
-----END CERTIFICATE-----
`;
