#include "store/http/http_checksum.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "store/base64.h"
#include "store/crc.h"
#include "store/http/amz_checksum.h"
#include "store/sha256.h"

namespace forebay {
namespace {

constexpr std::string_view kBody = "123456789";
// Digests of kBody, computed by other programs.
const std::string kMd5 = "JfnnlDI7RTiF9RgfG2JNCw==", kSha256 = "FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU=";
const std::string kWrong = "AAAAAAAAAAAAAAAAAAAAAA==";

Status check(std::vector<HttpHeader> headers, std::string_view body = kBody) {
  HttpResponse response{200, std::move(headers), Buffer::allocate(body.size())};
  std::memcpy(response.body.data(), body.data(), body.size());
  return check_http_checksum(response);
}

void expect_right(const std::string& header, const std::string& value) {
  EXPECT_TRUE(check({{header, value}}).ok()) << header << ": " << value;
}
// The link may have damaged the bytes, and a retry may bring better ones, so a mismatch is never
// Corrupt.
void expect_wrong(const std::string& header, const std::string& value) {
  const Status status = check({{header, value}});
  EXPECT_EQ(status.code(), Code::kUnavailable) << header << ": " << value;
  EXPECT_NE(status.message().find("checksum that the server gives"), std::string::npos) << status.message();
}

TEST(HttpChecksum, without_any_header_there_is_nothing_to_compare) {
  EXPECT_TRUE(check({}).ok());
  EXPECT_TRUE(check({{"etag", "\"x\""}, {"content-type", "image/jpeg"}}).ok());
}

TEST(HttpChecksum, every_header_that_is_known_is_compared) {
  expect_right("content-md5", kMd5);
  expect_wrong("content-md5", kWrong);
  for (const char* header : {"digest", "repr-digest"}) {
    expect_right(header, "sha-256=" + kSha256);
    expect_right(header, "SHA-256=" + kSha256);
    expect_right(header, "md5=" + kMd5);
    expect_wrong(header, "sha-256=" + kWrong);
    expect_wrong(header, "md5=" + kWrong);
  }
  expect_right("repr-digest", "sha-256=:" + kSha256 + ":");
  expect_wrong("repr-digest", "sha-256=:" + kWrong + ":");
}

TEST(HttpChecksum, of_several_every_one_that_is_known_must_be_right) {
  expect_right("digest", "md5=" + kMd5 + ",sha-256=" + kSha256);
  expect_right("digest", "md5=" + kMd5 + ", sha-256=" + kSha256);
  expect_wrong("digest", "md5=" + kMd5 + ", sha-256=" + kWrong);
  expect_wrong("digest", "md5=" + kWrong + ", sha-256=" + kSha256);
  expect_right("digest", "unixsum=30637, sha-256=" + kSha256 + ", crc32c=x");
  expect_right("digest", "sha-512=whatever");
}

// RFC 9110, 5.6.1: blanks may stand on both sides of the comma, and list members may be empty.
TEST(HttpChecksum, blanks_around_the_members_of_a_list_are_no_part_of_them) {
  expect_right("digest", "md5=" + kMd5 + " , sha-256=" + kSha256 + " ");
  expect_right("digest", "\tmd5=" + kMd5 + "\t,\tsha-256=" + kSha256);
  expect_right("digest", ", md5=" + kMd5 + ",,");
  expect_right("repr-digest", "md5=:" + kMd5 + ": , sha-256=:" + kSha256 + ": ");
  expect_wrong("digest", "md5=" + kMd5 + " , sha-256=" + kWrong + " ");
}

TEST(HttpChecksum, what_stands_there_in_no_known_form_is_passed_over) {
  for (const char* text : {"", ",", "=", "md5", "sha-256", "==,==", "md5x=abc", ":", "sha-25=x"}) {
    expect_right("digest", text);
    expect_right("repr-digest", text);
  }
}

std::string big_endian(uint64_t value, size_t bytes) {
  std::vector<uint8_t> out;
  for (size_t i = bytes; i-- > 0;) out.push_back(static_cast<uint8_t>(value >> 8 * i));
  return base64(out);
}

TEST(AmzChecksum, of_each_kind_is_that_of_the_bytes) {
  const std::span<const uint8_t> body(reinterpret_cast<const uint8_t*>(kBody.data()), kBody.size());
  const std::vector<std::pair<std::string, std::string>> right = {
      {"x-amz-checksum-crc32", big_endian(0xcbf43926, 4)},
      {"x-amz-checksum-crc32c", big_endian(0xe3069283, 4)},
      {"x-amz-checksum-crc64nvme", big_endian(0xae8b14860a799888, 8)},
      {"x-amz-checksum-sha256", kSha256},
  };
  for (const auto& [header, value] : right) {
    expect_right(header, value);
    expect_wrong(header, kWrong);
    // Made of three parts' checksums, whose boundaries are unknown.
    expect_right(header, kWrong + "-3");
  }
  EXPECT_EQ(base64(sha256(body)), kSha256);
}

TEST(AmzChecksum, tells_which_kind_differed) {
  EXPECT_NE(check({{"x-amz-checksum-crc32", "AAAA"}}).message().find("(checksum-crc32)"), std::string::npos);
}

// Flips each single bit.
TEST(HttpChecksum, a_single_bit_that_differs_is_found_by_every_kind) {
  for (const auto& [header, value] : {std::pair<std::string, std::string>{"content-md5", kMd5},
                                      {"digest", "sha-256=" + kSha256},
                                      {"x-amz-checksum-crc32", big_endian(0xcbf43926, 4)},
                                      {"x-amz-checksum-crc64nvme", big_endian(0xae8b14860a799888, 8)}}) {
    for (size_t bit = 0; bit < kBody.size() * 8; ++bit) {
      std::string body(kBody);
      body[bit / 8] = static_cast<char>(body[bit / 8] ^ (1 << bit % 8));
      ASSERT_EQ(check({{header, value}}, body).code(), Code::kUnavailable) << header << ", bit " << bit;
    }
  }
}

// Compares the tables and the instruction with a bit-by-bit implementation, at lengths around the
// eight bytes of a step.
template <typename Crc>
Crc bit_by_bit(std::span<const uint8_t> bytes, Crc polynomial) {
  Crc crc = static_cast<Crc>(~Crc{0});
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) != 0 ? crc >> 1 ^ polynomial : crc >> 1;
  }
  return ~crc;
}

TEST(Crc, of_any_bytes_is_the_division_of_polynomials) {
  std::vector<uint8_t> bytes(70);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 73 + 5);
  for (size_t begin = 0; begin < 9; ++begin) {
    for (size_t length = 0; begin + length <= bytes.size(); ++length) {
      const std::span<const uint8_t> part = std::span(bytes).subspan(begin, length);
      ASSERT_EQ(crc32_iso(part), bit_by_bit<uint32_t>(part, 0xedb88320)) << length;
      ASSERT_EQ(crc32c(part), bit_by_bit<uint32_t>(part, 0x82f63b78)) << length;
      ASSERT_EQ(crc64_nvme(part), bit_by_bit<uint64_t>(part, 0x9a6c9329ac4bc9b5)) << length;
    }
  }
}

}  // namespace
}  // namespace forebay
