#include <openssl/evp.h>
#include <openssl/sha.h>

#include "store/md5.h"
#include "store/sha256.h"

namespace forebay {

Sha256 sha256(std::span<const uint8_t> bytes) {
  Sha256 digest;
  SHA256(bytes.data(), bytes.size(), digest.data());
  return digest;
}

std::optional<Md5> md5(std::span<const uint8_t> bytes) {
  Md5 digest;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_md5(), nullptr) != 1) return std::nullopt;
  return digest;
}

}  // namespace forebay
