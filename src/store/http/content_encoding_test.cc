#include "store/http/content_encoding.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include <libdeflate.h>

namespace forebay {
namespace {

enum class Form : uint8_t { kGzip, kZlib, kBare };

std::string compressed(const std::string& text, Form form) {
  libdeflate_compressor* const compressor = libdeflate_alloc_compressor(6);
  std::string out(libdeflate_gzip_compress_bound(compressor, text.size()), '\0');
  size_t size = 0;
  if (form == Form::kGzip)
    size = libdeflate_gzip_compress(compressor, text.data(), text.size(), out.data(), out.size());
  if (form == Form::kZlib)
    size = libdeflate_zlib_compress(compressor, text.data(), text.size(), out.data(), out.size());
  if (form == Form::kBare)
    size = libdeflate_deflate_compress(compressor, text.data(), text.size(), out.data(), out.size());
  libdeflate_free_compressor(compressor);
  out.resize(size);
  return out;
}

HttpResponse answer(const std::string& encoding, const std::string& body) {
  HttpResponse response;
  response.status = 200;
  if (!encoding.empty()) response.headers.push_back({"content-encoding", encoding});
  response.body = Buffer::allocate(body.size());
  std::memcpy(response.body.data(), body.data(), body.size());
  return response;
}

std::string text(const Buffer& buffer) { return {reinterpret_cast<const char*>(buffer.data()), buffer.size()}; }

TEST(ContentEncoding, what_a_server_compressed_is_what_it_was) {
  const std::string large(5'000'000, 'x');
  for (const std::string& plain : {std::string("one\ntwo\n"), std::string(), large}) {
    const std::string gzip = compressed(plain, Form::kGzip);
    EXPECT_EQ(text(decode_content(answer("gzip", gzip), 1 << 30).value()), plain);
    EXPECT_EQ(text(decode_content(answer("X-GZIP", gzip), 1 << 30).value()), plain);
    EXPECT_EQ(text(decode_content(answer("gzip", gzip + gzip), 1 << 30).value()), plain + plain) << "two members";
    EXPECT_EQ(text(decode_content(answer("deflate", compressed(plain, Form::kZlib)), 1 << 30).value()), plain);
    EXPECT_EQ(text(decode_content(answer("deflate", compressed(plain, Form::kBare)), 1 << 30).value()), plain);
  }
}

TEST(ContentEncoding, what_is_not_encoded_stays_as_it_is) {
  for (const char* const encoding : {"", "identity", "aws-chunked", "Identity , aws-chunked"}) {
    EXPECT_EQ(content_encoding(answer(encoding, "x")), "") << encoding;
    EXPECT_EQ(text(decode_content(answer(encoding, "\x1f\x8b"), 10).value()), "\x1f\x8b") << encoding;
  }
  EXPECT_EQ(content_encoding(answer("aws-chunked,gzip", "x")), "gzip");
}

TEST(ContentEncoding, what_cannot_be_decoded_is_an_error_that_names_the_encoding) {
  const std::string gzip = compressed("one\ntwo\n", Form::kGzip);
  struct Case {
    const char* encoding;
    std::string body;
    Code code;
  };
  const Case cases[] = {
      {"br", "x", Code::kUnsupported},
      {"zstd", "x", Code::kUnsupported},
      {"gzip, br", gzip, Code::kUnsupported},
      {"gzip", "{\"a\": 1}", Code::kCorrupt},
      {"gzip", gzip.substr(0, gzip.size() - 3), Code::kCorrupt},
      {"gzip", gzip + "tail", Code::kCorrupt},
      {"deflate", "{\"a\": 1}", Code::kCorrupt},
      {"gzip", compressed(std::string(1'000'000, 'x'), Form::kGzip), Code::kOutOfBudget},
  };
  for (const Case& one : cases) {
    const Status status = decode_content(answer(one.encoding, one.body), 100'000).status();
    EXPECT_EQ(status.code(), one.code) << one.encoding << ": " << status.to_string();
    EXPECT_NE(status.message().find("Content-Encoding"), std::string::npos) << status.to_string();
  }
}

}  // namespace
}  // namespace forebay
