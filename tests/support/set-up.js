// jest's global set-up.
module.exports = () => require("./in-memory").begin();
