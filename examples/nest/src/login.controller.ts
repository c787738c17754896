import { Body, Controller, Inject, Post } from '@nestjs/common'
import { LoginService } from './login.service.js'

@Controller('login')
export class LoginController {
  constructor(@Inject(LoginService) private readonly service: LoginService) {}

  @Post()
  login(@Body() body: { account?: string; password?: string }) {
    return this.service.login(body.account || 'nobody', body.password ?? '')
  }
}
