import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common'

/** Stands for real authentication: trusts the header `x-user`. */
@Injectable()
export class AuthGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest()
    request.user = { id: request.headers['x-user'] }
    return request.user.id !== undefined
  }
}
