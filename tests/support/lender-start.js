module.exports = require("./lender").start;
