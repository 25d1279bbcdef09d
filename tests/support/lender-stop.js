module.exports = require("./lender").stop;
