#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "store/http/http_caller.h"
#include "store/s3/aws_environment.h"
#include "store/s3/s3_client.h"

namespace forebay {

inline Buffer test_buffer(std::string_view text) {
  Buffer buffer = Buffer::allocate(text.size());
  if (!text.empty()) std::memcpy(buffer.data(), text.data(), text.size());
  return buffer;
}

inline HttpResponse answer(int status, std::string_view body = "", std::vector<HttpHeader> headers = {}) {
  return {status, std::move(headers), test_buffer(body)};
}

/// Returns an error as S3 servers send it.
inline HttpResponse s3_error(int status, const std::string& code, const std::string& more = "",
                             std::vector<HttpHeader> headers = {}) {
  return answer(status, "<Error><Code>" + code + "</Code><Message></Message>" + more + "</Error>", std::move(headers));
}

inline std::string header_of(const HttpRequest& request, std::string_view name) {
  for (const HttpHeader& header : request.headers) {
    if (header.name == name) return header.value;
  }
  return "";
}

/// A server in a function, with a caller that tries three times. Records the requests.
class FakeServer final : public HttpCaller, public HttpTransport {
 public:
  using Serve = std::function<Result<HttpResponse>(const HttpRequest& request)>;
  explicit FakeServer(Serve serve) : serve_(std::move(serve)) {}

  void call(HttpCall call, std::stop_token stop, HttpCaller::Done done) override {
    Status last;
    for (int attempt = 0; attempt < 3; ++attempt) {
      if (stop.stop_requested()) return done(cancelled("stopped"));
      std::optional<Result<HttpResponse>> response;
      call.make(attempt, [&](Result<HttpRequest> request) {
        response.emplace(request.ok() ? serve(*request) : Result<HttpResponse>(request.status()));
      });
      last = response->ok() ? call.judge(**response) : response->status();
      if (last.ok()) return done(std::move(*response));
      if (last.code() != Code::kUnavailable) break;
    }
    done(last);
  }
  void send(HttpRequest request, std::stop_token, HttpTransport::Done done) override { done(serve(request)); }

  std::vector<HttpRequest> requests;

 private:
  Result<HttpResponse> serve(const HttpRequest& request) {
    requests.push_back(request);
    return serve_(request);
  }
  const Serve serve_;
};

/// Variables and files that a test sets.
struct FakeEnvironment {
  std::map<std::string, std::string> variables = {{"HOME", "/home/me"}};
  std::map<std::string, std::string> files;

  AwsEnvironment get() const {
    return {[variables = variables](const std::string& name) {
              const auto found = variables.find(name);
              return found == variables.end() ? std::string() : found->second;
            },
            [files = files](const std::string& path) -> Result<std::string> {
              const auto found = files.find(path);
              if (found == files.end()) return not_found("no such file");
              return found->second;
            }};
  }
};

}  // namespace forebay
