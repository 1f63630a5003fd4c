#include "store/sha256.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace forebay {
namespace {

std::string hmac(const std::vector<uint8_t>& key, std::string_view text) { return hex(hmac_sha256(key, text)); }
std::vector<uint8_t> key_of(std::string_view text) { return {text.begin(), text.end()}; }

// FIPS 180-4, as published with its examples.
TEST(Sha256, of_the_standards_examples_is_theirs) {
  EXPECT_EQ(hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// RFC 4231, test cases 1 to 4, 6 and 7: short keys, one of a block's length and more.
TEST(Hmac, of_the_examples_of_rfc_4231_is_theirs) {
  EXPECT_EQ(hmac(std::vector<uint8_t>(20, 0x0b), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac(key_of("Jefe"), "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(std::vector<uint8_t>(20, 0xaa), std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  std::vector<uint8_t> rising;
  for (uint8_t byte = 1; byte <= 25; ++byte) rising.push_back(byte);
  EXPECT_EQ(hmac(rising, std::string(50, '\xcd')), "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  EXPECT_EQ(hmac(std::vector<uint8_t>(131, 0xaa), "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(
      hmac(std::vector<uint8_t>(131, 0xaa),
           "This is a test using a larger than block-size key and a larger than block-size data. The key needs to "
           "be hashed before being used by the HMAC algorithm."),
      "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(Hmac, a_key_of_exactly_a_block_is_used_as_it_is) {
  const std::vector<uint8_t> block(64, 7), longer(65, 7);
  const Sha256 hashed = sha256(longer);
  EXPECT_EQ(hmac(longer, "text"), hmac({hashed.begin(), hashed.end()}, "text"));
  std::vector<uint8_t> filled_up(63, 7);
  const std::string without = hmac(filled_up, "text");
  filled_up.push_back(0);
  EXPECT_EQ(hmac(filled_up, "text"), without) << "shorter ones are filled up with zeros";
  EXPECT_NE(hmac(block, "text"), without);
}

TEST(Hex, is_two_digits_a_byte_in_lower_case) {
  EXPECT_EQ(hex(std::vector<uint8_t>{}), "");
  EXPECT_EQ(hex(std::vector<uint8_t>{0x00, 0x0f, 0xa0, 0xff}), "000fa0ff");
}

}  // namespace
}  // namespace forebay
