#pragma once

#include <memory>

#include "store/http/http_transport.h"
#include "store/s3/aws_environment.h"
#include "store/s3/credentials.h"
#include "store/s3/s3_options.h"

namespace forebay {

/// Returns the first source of: the options (keys, anonymous, profile), the environment's keys, the
/// profile in the shared files, the container's endpoint, the instance's metadata service.
/// `transport` carries the requests of the last two. InvalidArgument, with a remedy, if given
/// settings cannot be used. If no source exists at all, get() reports it.
Result<std::shared_ptr<CredentialsSource>> find_credentials(const S3Options& options, const AwsEnvironment& environment,
                                                            std::shared_ptr<HttpTransport> transport);

}  // namespace forebay
