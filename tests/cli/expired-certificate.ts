/** A certificate that was valid during the year 2020. Its key was not kept. */
export const expiredCertificate = `-----BEGIN CERTIFICATE-----
MIIBATCBqAIBATAKBggqhkjOPQQDAjANMQswCQYDVQQDDAJtZTAeFw0yMDAxMDEw
MDAwMDBaFw0yMTAxMDEwMDAwMDBaMA0xCzAJBgNVBAMMAm1lMFkwEwYHKoZIzj0C
AQYIKoZIzj0DAQcDQgAEg832LusNu4DfA0cOqOHWCHiqZMCmaK+g0kyQXCgC8gip
CriZm4nGaEHnQ2Xl75QjgCLHtu5PxOC2rAvsnvYiFDAKBggqhkjOPQQDAgNIADBF
AiAc+NhSSLVYV9E9qhKNzvsYr2o8YJ75p5epPlcdqQc08QIhAIeIboDv/auxUPAA
mr4zIzSWu07UYoWYal4HcYXJiMhF
-----END CERTIFICATE-----
`;
