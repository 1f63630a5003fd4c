#include "store/s3/signer.h"

#include <gtest/gtest.h>

#include "store/percent.h"

namespace forebay {
namespace {

using namespace std::chrono;

std::string authorization(const std::vector<HttpHeader>& headers) {
  for (const HttpHeader& header : headers) {
    if (header.name == "authorization") return header.value.substr(header.value.find("Signature=") + 10);
  }
  return "";
}

// Examples of "Signature Calculations for the Authorization Header" in the Amazon S3 API reference.
class S3Examples : public testing::Test {
 protected:
  std::string signature(const ToSign& request) const {
    return authorization(Signer("us-east-1", "s3").sign(request, credentials_, time_));
  }
  ToSign request(std::string method, std::string path) const {
    ToSign to_sign;
    to_sign.method = std::move(method);
    to_sign.host = "examplebucket.s3.amazonaws.com";
    to_sign.path = std::move(path);
    to_sign.payload_hash = kEmptyPayloadHash;
    return to_sign;
  }
  const Credentials credentials_{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "", {}};
  const WallTime time_ = sys_days(2013y / May / 24);
};

TEST_F(S3Examples, GetObjectWithARange) {
  ToSign get = request("GET", "/test.txt");
  get.headers = {{"Range", "bytes=0-9"}};
  EXPECT_EQ(signature(get), "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST_F(S3Examples, PutObjectWithAStorageClass) {
  ToSign put = request("PUT", "/" + percent_encode_path("test$file.text"));
  put.headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  put.payload_hash = hex(sha256("Welcome to Amazon S3."));
  EXPECT_EQ(signature(put), "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd");
}

TEST_F(S3Examples, GetBucketLifecycle) {
  ToSign get = request("GET", "/");
  get.query = {{"lifecycle", ""}};
  EXPECT_EQ(signature(get), "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
}

TEST_F(S3Examples, ListObjects) {
  ToSign get = request("GET", "/");
  get.query = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_EQ(signature(get), "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
}

TEST_F(S3Examples, ASessionTokenIsSignedToo) {
  Credentials with_token = credentials_;
  with_token.session_token = "token";
  const auto headers = Signer("us-east-1", "s3").sign(request("GET", "/x"), with_token, time_);
  EXPECT_NE(headers.back().value.find("x-amz-security-token"), std::string::npos);
}

TEST_F(S3Examples, AnotherDayOrSecretHasAnotherKey) {
  const Signer signer("us-east-1", "s3");
  const std::string first = authorization(signer.sign(request("GET", "/x"), credentials_, time_));
  EXPECT_NE(authorization(signer.sign(request("GET", "/x"), credentials_, time_ + days(1))), first);
  Credentials other = credentials_;
  other.secret_access_key = "other";
  EXPECT_NE(authorization(signer.sign(request("GET", "/x"), other, time_)), first);
  EXPECT_EQ(authorization(signer.sign(request("GET", "/x"), credentials_, time_)), first);
}

// The published test suite of Signature Version 4 (aws-sig-v4-test-suite), with the host
// example.amazonaws.com and the service "service".
class TestSuite : public testing::Test {
 protected:
  std::string signature(const ToSign& request) const {
    const Credentials credentials{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "", {}};
    const WallTime time = sys_days(2015y / August / 30) + 12h + 36min;
    return authorization(Signer("us-east-1", "service").sign(request, credentials, time));
  }
  ToSign get(QueryParameters query = {}, std::vector<HttpHeader> headers = {}) const {
    ToSign to_sign;
    to_sign.host = "example.amazonaws.com";
    to_sign.query = std::move(query);
    to_sign.headers = std::move(headers);
    to_sign.payload_hash = kEmptyPayloadHash;
    return to_sign;
  }
};

TEST_F(TestSuite, GetVanilla) {
  EXPECT_EQ(signature(get()), "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST_F(TestSuite, PostVanilla) {
  ToSign post = get();
  post.method = "POST";
  EXPECT_EQ(signature(post), "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b");
}

TEST_F(TestSuite, GetVanillaQueryOrderKeyCase) {
  EXPECT_EQ(signature(get({{"Param2", "value2"}, {"Param1", "value1"}})),
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500");
}

TEST_F(TestSuite, GetVanillaEmptyQueryKey) {
  EXPECT_EQ(signature(get({{"Param1", "value1"}})), "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb");
}

TEST_F(TestSuite, GetHeaderKeyDuplicate) {
  EXPECT_EQ(signature(get({}, {{"My-Header1", "value2"}, {"My-Header1", "value2"}, {"My-Header1", "value1"}})),
            "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea");
}

TEST_F(TestSuite, GetHeaderValueTrim) {
  EXPECT_EQ(signature(get({}, {{"My-Header1", " value1"}, {"My-Header2", " \"a   b   c\""}})),
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736");
}

TEST_F(TestSuite, GetUtf8) {
  ToSign request = get();
  request.path = "/" + percent_encode_path("\xe1\x88\xb4");
  EXPECT_EQ(signature(request), "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85");
}

TEST(CanonicalQuery, IsEncodedAndThenSorted) {
  EXPECT_EQ(canonical_query({{"b", "1 2"}, {"a", "x/y+z"}, {"a", ""}, {"B", "~-._"}}), "B=~-._&a=&a=x%2Fy%2Bz&b=1%202");
}

TEST(Hmac, KeysLongerThanABlockAreHashed) {
  // RFC 4231, test cases 2 and 6.
  const auto bytes = [](std::string_view text) {
    return std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  };
  EXPECT_EQ(hex(hmac_sha256(bytes("Jefe"), "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hex(hmac_sha256(bytes(std::string(131, '\xaa')), "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

}  // namespace
}  // namespace forebay
