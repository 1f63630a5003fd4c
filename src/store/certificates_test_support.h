#pragma once

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "store/scratch_folder.h"

namespace forebay {

/// Makes certificates in a folder of its own: NAME.pem and NAME.key.
class TestCertificates {
 public:
  TestCertificates() = default;
  ~TestCertificates() {
    for (auto& [name, pair] : made_) {
      X509_free(pair.certificate);
      EVP_PKEY_free(pair.key);
    }
  }
  TestCertificates(const TestCertificates&) = delete;
  TestCertificates& operator=(const TestCertificates&) = delete;

  std::string file(const std::string& name) const { return folder_.path(name); }
  void make_authority(const std::string& name) { make(name, name, "", 2); }
  /// `names`: for example "DNS:localhost,IP:127.0.0.1". The certificate is valid for `days`; a
  /// negative number makes it expired.
  void make(const std::string& name, const std::string& signer, const std::string& names, int days) {
    Pair& pair = made_[name];
    pair.key = EVP_EC_gen("P-256");
    pair.certificate = X509_new();
    X509* const one = pair.certificate;
    X509_set_version(one, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(one), static_cast<long>(made_.size()));
    X509_gmtime_adj(X509_getm_notBefore(one), -3L * 86'400);
    X509_gmtime_adj(X509_getm_notAfter(one), days * 86'400L);
    X509_set_pubkey(one, pair.key);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(one), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
    X509_set_issuer_name(one, X509_get_subject_name(made_.at(signer).certificate));
    extend(one, NID_basic_constraints, signer == name ? "critical,CA:TRUE" : "critical,CA:FALSE");
    if (!names.empty()) extend(one, NID_subject_alt_name, names);
    X509_sign(one, made_.at(signer).key, EVP_sha256());
    write(name, pair, nullptr);
  }
  /// Writes NAME.locked: the key of NAME, encrypted with a password.
  void lock(const std::string& name) { write(name, made_.at(name), "secret"); }

 private:
  struct Pair {
    EVP_PKEY* key = nullptr;
    X509* certificate = nullptr;
  };
  static void extend(X509* certificate, int kind, const std::string& value) {
    X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, kind, value.c_str());
    X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
  }
  void write(const std::string& name, const Pair& pair, const char* password) {
    std::FILE* out = std::fopen(file(name + (password == nullptr ? ".key" : ".locked")).c_str(), "w");
    PEM_write_PKCS8PrivateKey(out, pair.key, password == nullptr ? nullptr : EVP_aes_128_cbc(), password,
                              password == nullptr ? 0 : 6, nullptr, nullptr);
    std::fclose(out);
    out = std::fopen(file(name + ".pem").c_str(), "w");
    PEM_write_X509(out, pair.certificate);
    std::fclose(out);
  }

  const ScratchFolder folder_;
  std::map<std::string, Pair> made_;
};

}  // namespace forebay
