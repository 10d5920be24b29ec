// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

// A small ERC-20 for tests: it mints everything to its maker, who can bar recipients. Token.hex is made of it by
// solc 0.8 with the optimizer (runs 1), evmVersion paris and no metadata.
contract Token {
    string public constant symbol = "TST";
    uint8 public constant decimals = 6;
    address immutable maker = msg.sender;
    mapping(address => uint256) public balanceOf;
    mapping(address => bool) public barred;
    event Transfer(address indexed from, address indexed to, uint256 value);

    constructor() { balanceOf[msg.sender] = 1000e6; }

    function bar(address who) external {
        require(msg.sender == maker, "TST: not yours");
        barred[who] = true;
    }

    function transfer(address to, uint256 value) external returns (bool) {
        require(!barred[to], "TST: recipient is barred");
        require(balanceOf[msg.sender] >= value, "TST: insufficient balance");
        unchecked { balanceOf[msg.sender] -= value; balanceOf[to] += value; }
        emit Transfer(msg.sender, to, value);
        return true;
    }
}
