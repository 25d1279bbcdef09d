// jest's global end.
module.exports = () => require("./in-memory").end();
